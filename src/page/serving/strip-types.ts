import { Worker } from 'node:worker_threads'

/**
 * TypeScript files without their types, as the browser runs them: every line stays where it is. A thread of its own
 * does it and ends, because the parser takes tens of megabytes and holds up its thread.
 */
export function stripTypes(paths: readonly string[]): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('strip-worker.ts', import.meta.url), { workerData: paths })
    worker.once('message', (texts: readonly string[]) => resolve(texts))
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the thread that strips types exited: ${code}`)))
  })
}
