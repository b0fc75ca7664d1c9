/** One run of an external program. No part of it is interpreted by a shell. */
export interface Job {
  /** A program name, found on the fixed search path: letters, digits, `.`, `_`, `-`. */
  readonly program: string
  /** Words of the safe alphabet `A-Za-z0-9_.,:/=+@%-`; other data has to be passed in `stdin`. */
  readonly args: readonly string[]
  /** Written to a private file before the program starts; absent: empty input. */
  readonly stdin?: string | Iterable<string>
  /** Milliseconds after which the program gets SIGTERM, and one second later SIGKILL. */
  readonly timeoutMs: number
  /** Do not wait for the jobs before this one (default: strictly in order). */
  readonly concurrent?: boolean
}

/** How a program ended. */
export interface Exit {
  /** Exit status; 128 + n after signal n, 127 if the program does not exist. */
  readonly status: number
  readonly stderr: string
  /** Process id of the program itself. */
  readonly pid: number
  readonly timedOut: boolean
}

/** How a program ended, and its output. */
export interface ProgramResult extends Exit {
  readonly stdout: string
}

/**
 * Runs external programs. A failing program is a value; a rejected promise
 * means that it is unknown what the program did (NP_KERNEL_SPAWNER), or that
 * the job itself was malformed (NP_KERNEL_JOB).
 */
export interface ProgramRunner {
  /** Runs a program and resolves when it has ended, with all its output. */
  run(job: Job): Promise<ProgramResult>
  /** Passes on standard output line by line, without holding all of it in memory. */
  runLines(job: Job, onLine: (line: string) => void): Promise<Exit>
  /** Waits for the running jobs, then frees everything. */
  close(): Promise<void>
}
