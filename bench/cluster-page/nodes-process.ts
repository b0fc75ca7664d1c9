import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tieToUs } from '../../test/support/tie-to-us.ts'

const PROGRAM = new URL('./nodes-main.ts', import.meta.url).pathname

/** Starts the process that simulates the nodes. `pki`: the folder of the server's authority. */
export async function startNodes(
  pki: string,
  { nodes, services }: { readonly nodes: number; readonly services: number },
): Promise<Disposable> {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, pki, `${nodes}`, `${services}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  tieToUs(child)
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the process of the nodes ended'))),
  ])
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') }
}
