import { spawn } from 'node:child_process'

export interface CommandOptions {
  /** Text for the command's standard input. */
  readonly input?: string
  /** Milliseconds until the command is killed; 20,000 unless told otherwise. */
  readonly timeoutMs?: number
}

/**
 * Runs one command to its end and returns its standard output.
 * Throws with the command line and the end of what it said when it does not exit 0.
 */
export function run(command: readonly string[], options: CommandOptions = {}): Promise<string> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', timeout: options.timeoutMs ?? 20_000 })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.stdin.on('error', () => {})
    child.on('error', reject)
    child.on('close', (status, signal) => {
      if (status === 0) return resolve(Buffer.concat(out).toString())
      const said = Buffer.concat([...out, ...err])
        .toString()
        .trim()
        .slice(-4000)
      reject(new Error(`${command.join(' ')}: ${signal ?? `exit ${status}`}: ${said}`))
    })
    child.stdin.end(options.input ?? '')
  })
}
