/**
 * Carrying text past the host's template language.
 *
 * Role: the host reads each complete pair of double braces in a section or
 * context as a variable, and an unknown one fails the turn. Every opening pair
 * is therefore replaced by a variable of ours whose value is that pair; values
 * are not scanned again, so the model sees the exact text. Escape once, as the
 * last step before the host: escaped text is not escaped again.
 */

/** Name of the variable to register with the host. */
export const PROMPT_BRACES_VARIABLE = 'project_memory_braces'

/** Value of that variable. */
export const PROMPT_BRACES_VALUE = '{{'

/**
 * @param text - any text.
 * @returns text from which the host renders exactly the given one.
 */
export function escapePromptText(text: string): string {
  return text.replaceAll(PROMPT_BRACES_VALUE, `{{${PROMPT_BRACES_VARIABLE}}}`)
}
