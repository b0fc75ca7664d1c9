import type { ChildProcess } from 'node:child_process'

/** Ends the child when this process ends. */
export function tieToUs(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL')
  // Each child has a listener of its own; Node takes more than ten for a leak.
  process.setMaxListeners(Math.max(process.getMaxListeners(), process.listenerCount('exit') + 2))
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
