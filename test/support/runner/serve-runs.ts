import type { Ran, Run, RunReply, RunRequest } from './program-runner.ts'

/** A stream of which the text is kept. */
export interface KeptOutput {
  write(text: string | Uint8Array): boolean
}

/** What a run uses outside of itself. */
export interface RunHost {
  readonly stdout: KeptOutput
  readonly stderr: KeptOutput
  /** Interrupts a run that takes too long. */
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 150_000

/** Runs a program for each message of the parent; several runs can happen at the same time. Ends with the parent. */
export function serveRuns(program: (run: Run, host: RunHost) => Promise<number>): void {
  const reply = async ({ id, ...run }: RunRequest): Promise<void> => {
    process.send?.({ id, ...(await ran(program, run)) } satisfies RunReply)
  }
  process.on('message', (request: RunRequest) => void reply(request))
  process.on('disconnect', () => process.exit())
}

async function ran(program: Parameters<typeof serveRuns>[0], run: Run): Promise<Ran> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  const into = (kept: Buffer[]): KeptOutput => ({
    write: (text) => kept.push(Buffer.from(text)) > 0,
  })
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const code = await program(run, { stdout: into(stdout), stderr: into(stderr), signal }).catch(
    (error: Error) => {
      stderr.push(Buffer.from(`${error.stack}`))
      return -1
    },
  )
  const text = (kept: readonly Buffer[]): string => Buffer.concat(kept).toString()
  return { code, stdout: text(stdout), stderr: text(stderr) }
}
