import type { ChildProcess } from 'node:child_process'

/** Ends the child when this process ends. */
export function tieToUs(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
