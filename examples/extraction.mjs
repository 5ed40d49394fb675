/**
 * Decides for a small transcript whether memories are worth drawing from it, builds the
 * prompt for the run, and shows how the cursor moves.
 *
 * Run: `node examples/extraction.mjs`, after `npm run build`.
 */
import {
  buildMemoryExtractionPrompt,
  createMemoryExtractionScheduler,
  evaluateMemoryExtraction,
} from 'dsh-zcode-project-memory/subsystems/extraction'

const snapshot = {
  boundaryMessageId: 'm2',
  durableMessages: [
    {
      info: { id: 'm1', role: 'user' },
      parts: [{ type: 'text', text: 'Remember that releases go out on Thursdays.' }],
    },
    { info: { id: 'm2', role: 'assistant' }, parts: [{ type: 'text', text: 'I will.' }] },
  ],
}

const prompts = []
const scheduler = createMemoryExtractionScheduler(({ messageCount }) => {
  // A real executor hands this prompt to a model and runs its tool calls.
  prompts.push(
    buildMemoryExtractionPrompt({ manifest: [], messageCount, formatManifest: () => '' }),
  )
  return 'success'
})
const first = evaluateMemoryExtraction(snapshot, scheduler.getCursor())
scheduler.schedule(snapshot)
await scheduler.drain()
const second = evaluateMemoryExtraction(snapshot, scheduler.getCursor())
await scheduler.shutdown()

console.log(
  JSON.stringify({
    subsystem: 'extraction',
    first,
    promptCharacters: prompts[0]?.length,
    cursor: scheduler.getCursor(),
    second,
  }),
)
