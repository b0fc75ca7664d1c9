/** Sends SIGKILL; one that has ended is no mistake. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
}
