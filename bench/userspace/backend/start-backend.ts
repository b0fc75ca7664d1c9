import { spawn } from 'node:child_process'
import { once } from 'node:events'

const PROGRAM = new URL('./main.ts', import.meta.url).pathname

/** Starts the backend; resolves when it listens in all namespaces. @returns a function that ends it */
export async function startBackend(
  folder: string,
  namespaces: readonly string[],
): Promise<() => void> {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, folder, ...namespaces]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the backend has ended')
  })
  await Promise.race([once(child.stdout, 'data'), ended])
  ended.catch(() => undefined)
  return () => child.kill('SIGKILL')
}
