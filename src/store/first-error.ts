/**
 * The first error of several steps that are all carried out.
 *
 * Role: for what is not to stop half-way; whoever runs the steps looks at it in the end.
 */
import { writeError } from './directories.ts'

/** Keeps the first error. */
export class FirstError {
  error: unknown

  /** Run a step; its error is kept and not thrown. */
  async during(path: string, step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (cause) {
      this.error ??= writeError(path, cause)
    }
  }
}
