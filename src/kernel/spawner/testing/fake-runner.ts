import type { Exit, Job, ProgramResult, ProgramRunner } from '../program-runner.ts'

export interface FakeJob {
  readonly program: string
  readonly args: readonly string[]
  readonly stdin: string
}

/** Answers jobs from a function and remembers them. */
export class FakeRunner implements ProgramRunner {
  readonly jobs: FakeJob[] = []
  readonly #answer: (job: FakeJob) => Partial<ProgramResult>

  constructor(answer: (job: FakeJob) => Partial<ProgramResult> = () => ({})) {
    this.#answer = answer
  }

  async run(job: Job): Promise<ProgramResult> {
    const stdin = typeof job.stdin === 'string' ? job.stdin : [...(job.stdin ?? [])].join('')
    const fake = { program: job.program, args: job.args, stdin }
    this.jobs.push(fake)
    const silent = { status: 0, stdout: '', stderr: '', pid: 1, timedOut: false }
    return { ...silent, ...this.#answer(fake) }
  }

  async runLines(job: Job, onLine: (line: string) => void): Promise<Exit> {
    const { stdout, ...exit } = await this.run(job)
    const lines = stdout.split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const line of lines) onLine(line)
    return exit
  }

  async close(): Promise<void> {}
}
