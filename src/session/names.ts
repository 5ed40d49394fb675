/**
 * Names under which the plugin registers with the host.
 *
 * Role: one home, light enough for the start-up path.
 */

/** Name of the context with the index. */
export const INDEX_CONTEXT_NAME = 'project-memory-index'

/** Name of the guidance section. */
export const GUIDANCE_SECTION_NAME = 'project-memory'
