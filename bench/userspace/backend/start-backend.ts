import { spawn } from 'node:child_process'
import { once } from 'node:events'

const PROGRAM = new URL('./main.ts', import.meta.url).pathname

/** Resolves when it listens in all the namespaces; the result ends it. */
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
