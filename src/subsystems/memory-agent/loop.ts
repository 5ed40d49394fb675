/**
 * The memory agent's loop: ask the model, decide about its calls, run them, ask
 * again.
 *
 * Role: orchestration only. The model, the tools and their execution come in as
 * arguments; nothing is logged, stored or retried here. Messages cross the
 * border as copies in both directions, while the tool list is handed on as the
 * very same array: equal bytes in every request keep a provider's prompt cache.
 */
import { evaluateMemoryAgentToolPolicy, isOfferedTool, type MemoryAgentTool } from './policy.ts'
import { assertAbsoluteDirectories, type MemoryDirectories } from './paths.ts'
import { malformedArgumentsText } from './texts.ts'

/** Plain data that `structuredClone` can copy; the loop reads nothing in it. */
export type MemoryAgentMessage = Record<string, unknown>

/** A call as the model made it; `input` is an object or its JSON text. */
export interface MemoryAgentToolCall {
  id: string
  name: string
  input: unknown
}

/** A call whose arguments were read and allowed. */
export interface MemoryAgentAllowedCall extends MemoryAgentToolCall {
  input: Record<string, unknown>
}

/** What {@link MemoryAgentModel} is asked with. */
export interface MemoryAgentModelRequest {
  /** A copy that the model may keep or change. */
  messages: MemoryAgentMessage[]
  /** The caller's own array, unchanged. */
  tools: readonly MemoryAgentTool[]
  /** Aborted when the run ends early. */
  abortSignal: AbortSignal
}

/** One answer; without tool calls it is the last. */
export interface MemoryAgentModelResponse {
  text?: string | undefined
  /** Passed on in the assistant message as it is. */
  reasoning?: unknown
  toolCalls?: readonly MemoryAgentToolCall[] | null | undefined
}

/**
 * The model. Contract: a rejection ends the run with that reason; a request is
 * abandoned when the signal is aborted, so it should stop then.
 */
export interface MemoryAgentModel {
  generateText(request: MemoryAgentModelRequest): Promise<MemoryAgentModelResponse>
}

/** What a tool gave: its text, or content with an error flag. */
export type MemoryAgentToolOutcome =
  | string
  | { content?: unknown; isError?: boolean | undefined }
  | undefined

/**
 * Runs one allowed call. Contract: what the model should see as an error is
 * returned with `isError`; a throw means that the run cannot go on. Calls of
 * one turn run at the same time. When the signal is aborted the call should
 * end soon: the loop waits for it, so that nothing writes after the run.
 */
export type MemoryAgentExecutor = (
  call: MemoryAgentAllowedCall,
  context: { abortSignal: AbortSignal },
) => MemoryAgentToolOutcome | Promise<MemoryAgentToolOutcome>

/** What {@link runMemoryAgentLoop} takes. */
export interface MemoryAgentLoopInput extends MemoryDirectories {
  model: MemoryAgentModel
  tools: readonly MemoryAgentTool[]
  executeTool: MemoryAgentExecutor
  /** The conversation so far; never changed. */
  messages: readonly MemoryAgentMessage[]
  /** Most model requests, at least 1. */
  maxTurns: number
  abortSignal?: AbortSignal | undefined
}

/** How a run ended. */
export interface MemoryAgentLoopResult {
  /** A copy of the given messages, followed by the answers and the tool results. */
  messages: MemoryAgentMessage[]
  /** Number of model requests. */
  turns: number
}

/** What the parts of a run share. */
interface Run {
  input: MemoryAgentLoopInput
  controller: AbortController
}

/**
 * Runs the loop until the model makes no more calls or `maxTurns` requests were
 * made; the calls of the last request are still executed.
 *
 * A call with malformed arguments and a refused call are answered with an error
 * result, the loop goes on. Results stand in call order.
 * @returns when no tool call of the run is active any more.
 * @throws the signal's reason when aborted, the model's or executor's error
 *   when one fails (the first, after the other calls of the turn have ended),
 *   TypeError when an argument is wrong. What tools wrote until then stays.
 */
export async function runMemoryAgentLoop(
  input: MemoryAgentLoopInput,
): Promise<MemoryAgentLoopResult> {
  if (
    !Number.isSafeInteger((input as MemoryAgentLoopInput | undefined)?.maxTurns) ||
    input.maxTurns < 1
  ) {
    throw new TypeError('maxTurns must be a positive integer')
  }
  assertAbsoluteDirectories(input)
  const outer = input.abortSignal
  outer?.throwIfAborted()
  const controller = new AbortController()
  const forward = () => controller.abort(outer?.reason)
  outer?.addEventListener('abort', forward, { once: true })
  try {
    return await runTurns({ input, controller })
  } finally {
    outer?.removeEventListener('abort', forward)
  }
}

async function runTurns({ input, controller }: Run): Promise<MemoryAgentLoopResult> {
  const { model, tools, maxTurns } = input
  const abortSignal = controller.signal
  const messages: MemoryAgentMessage[] = structuredClone([...input.messages])
  for (let turns = 1; ; turns += 1) {
    abortSignal.throwIfAborted()
    const request = { messages: structuredClone(messages), tools, abortSignal }
    const response = await untilAborted(() => model.generateText(request), abortSignal)
    abortSignal.throwIfAborted()
    const { message, calls } = readResponse(response, turns)
    messages.push(message)
    if (calls.length === 0) return { messages, turns }
    messages.push(...(await runCalls({ input, controller }, calls)))
    if (turns >= maxTurns) return { messages, turns }
  }
}

/** Copies an answer into our message form; a call without an id gets one, the answer needs it. */
function readResponse(
  response: MemoryAgentModelResponse | null | undefined,
  turn: number,
): { message: MemoryAgentMessage; calls: MemoryAgentToolCall[] } {
  if (typeof response !== 'object' || response === null) {
    throw new TypeError('generateText must resolve to an object')
  }
  const { text, reasoning, toolCalls } = response
  const calls = structuredClone([...(toolCalls ?? [])]).map((call: unknown, index) => {
    const { id, name, input } = asRecord(call) ?? {}
    return {
      id: typeof id === 'string' && id !== '' ? id : `call-${turn}-${index + 1}`,
      name: typeof name === 'string' ? name : '',
      input,
    }
  })
  const message = {
    role: 'assistant',
    content: text ?? '',
    ...(reasoning === undefined ? {} : { reasoning: structuredClone(reasoning) }),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  }
  return { message, calls }
}

/** Starts all calls of a turn; each is judged just before it starts, by what is then on disk. */
async function runCalls(
  run: Run,
  calls: readonly MemoryAgentToolCall[],
): Promise<MemoryAgentMessage[]> {
  const running = calls.map(async (call) => {
    const decided = decide(run.input, call)
    const outcome =
      typeof decided === 'string'
        ? { content: decided, isError: true }
        : await execute(run, { id: call.id, name: call.name, input: decided })
    return { role: 'tool', toolCallId: call.id, toolName: call.name, ...outcome }
  })
  await Promise.allSettled(running)
  run.controller.signal.throwIfAborted()
  return Promise.all(running)
}

/** @returns the arguments of an allowed call, or the text that refuses it. */
function decide(
  input: MemoryAgentLoopInput,
  { name, input: given }: MemoryAgentToolCall,
): Record<string, unknown> | string {
  const { rootDir, workingDirectory, workspaceRoot, tools } = input
  const parsed = parseArguments(given)
  if (parsed === undefined && isOfferedTool(tools, name)) return malformedArgumentsText(name)
  const toolCall = { name, input: parsed ?? {} }
  const directories = { rootDir, workingDirectory, workspaceRoot }
  const decision = evaluateMemoryAgentToolPolicy({ ...directories, tools, toolCall })
  return decision.allowed ? toolCall.input : decision.reason
}

/** The arguments as an own copy; JSON text is parsed once, not again when it holds JSON text. */
function parseArguments(input: unknown): Record<string, unknown> | undefined {
  if (typeof input !== 'string') return structuredClone(asRecord(input))
  try {
    return asRecord(JSON.parse(input))
  } catch {
    // Not JSON: answered as malformed arguments.
    return undefined
  }
}

/** Runs one call; a throw stops the others through the signal, whose reason it becomes. */
async function execute(
  { input, controller }: Run,
  call: MemoryAgentAllowedCall,
): Promise<{ content: unknown; isError: boolean }> {
  try {
    const outcome = await input.executeTool(call, { abortSignal: controller.signal })
    if (typeof outcome === 'string') return { content: outcome, isError: false }
    return { content: outcome?.content ?? '', isError: outcome?.isError === true }
  } catch (error) {
    controller.abort(error)
    throw error
  }
}

/** Settles like the started promise, or rejects with the signal's reason as soon as it is aborted. */
async function untilAborted<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([start(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
