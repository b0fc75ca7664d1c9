import type { ChildProcess } from 'node:child_process'

/** The child does not outlive this process. */
export function tieToUs(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
