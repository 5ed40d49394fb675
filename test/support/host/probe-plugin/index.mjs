/** The smallest plugin that shows in a tool list, a system prompt and a context: it tests the harness. */

export const name = 'host-probe'
export const inject = ['tools', 'systemPrompt']

/** @param {any} ctx @param {{ note?: string }} [config] */
export function apply(ctx, config = {}) {
  if (config.note === 'broken') throw new Error('the probe was told to break')
  ctx.systemPrompt.section({ name: 'host-probe', order: 100, text: 'Probe section.' })
  ctx.systemPrompt.context({
    name: 'host-probe',
    order: 130,
    text: `Probe note: ${config.note ?? 'none'}.`,
  })
  ctx.tools.register({
    name: 'probe_echo',
    description: 'Says a word back.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    output: {
      schema: { type: 'object' },
      render: (/** @type {unknown} */ _args, /** @type {{ echo: string }} */ value) => [
        { type: 'text', text: `echo: ${value.echo}` },
      ],
    },
    async execute(/** @type {{ word: string }} */ args) {
      if (args.word === 'fail') throw new Error('the probe refuses this word')
      return { echo: args.word }
    },
  })
}
