/** Sends SIGKILL; it is not an error if the process has already ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
}

/** Sends SIGKILL to the process group that a process leads, which may be empty. */
export function killGroup(pid: number): void {
  killProcess(-pid)
}
