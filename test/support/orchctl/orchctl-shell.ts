import { execFile, spawn } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { newestKubectl } from '../kubectl/installed.ts'
import { launcherOf } from '../programs.ts'
import { type ProgramRunner, type Ran, startProgramRunner } from '../runner/program-runner.ts'
import { tieToUs } from '../tie-to-us.ts'

const PROGRAM = launcherOf('orchctl')

const SCRIPT = new URL('../runner/orchctl.script.ts', import.meta.url)

export interface RunOptions {
  /** For standard input. */
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A run that continues until `stop`. */
export interface Running {
  /** The next line of standard output. */
  line(): Promise<string>
  /** The next line of standard error. */
  complaint(): Promise<string>
  /** Sends SIGINT. Resolves to the exit code. */
  stop(): Promise<number | null>
}

/** A user of orchctl with a home, and therefore a cache, of their own. */
export interface OrchctlShell extends AsyncDisposable {
  readonly home: string
  /** Runs it to its end, in the home, in a process that all these runs share. */
  run(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** The same in a process of its own. */
  runApart(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** The same as `run`, for a run that must end with 0. @returns standard output */
  ok(args: readonly string[], options?: RunOptions): Promise<string>
  /** Runs another program with the same home and kubeconfig, which must end with 0. */
  program(file: string, args: readonly string[], options?: RunOptions): Promise<string>
  start(args: readonly string[]): Running
  write(name: string, text: string): Promise<string>
}

const TIMEOUT_MS = 150_000

/** Opens a shell for the server of a kubeconfig, of which it takes a copy. */
export async function openOrchctlShell(kubeconfig: string): Promise<OrchctlShell> {
  const home = await mkdtemp(join(tmpdir(), 'np-orchctl-'))
  await copyFile(kubeconfig, join(home, 'kubeconfig'))
  const variables = { ...process.env, HOME: home, KUBECONFIG: join(home, 'kubeconfig') }
  let runner: ProgramRunner | undefined
  const ended: (() => Promise<unknown>)[] = []

  const runProgram = (file: string, args: readonly string[], { input, env }: RunOptions) =>
    new Promise<Ran>((resolve) => {
      const settings = {
        cwd: home,
        env: { ...variables, XDG_CACHE_HOME: '', ...env },
        timeout: TIMEOUT_MS,
      }
      const child = execFile(file, [...args], settings, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? -1, stdout, stderr }),
      )
      // Ignores a failed write: a program that ends before it has read everything is judged by its exit code.
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(input ?? '')
    })

  const run = (args: readonly string[], options: RunOptions): Promise<Ran> => {
    const env = { ...variables, XDG_CACHE_HOME: '' }
    runner ??= startProgramRunner({ script: SCRIPT, cwd: home, env })
    return runner.run({ args, ...options })
  }

  return {
    home,
    run: (args, options = {}) => run(args, options),
    runApart: (args, options = {}) => runProgram(PROGRAM, args, options),
    ok: async (args, options = {}) => outputOf('orchctl', args, await run(args, options)),
    program: async (file, args, options = {}) =>
      outputOf(
        file,
        args,
        // The one of the PATH may be a wrapper that first requests from the server which kubectl it shall start.
        await runProgram(file === 'kubectl' ? newestKubectl() : file, args, options),
      ),
    start(args) {
      const child = spawn(PROGRAM, [...args], { cwd: home, env: variables })
      tieToUs(child)
      const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
      const stop = (): Promise<number | null> => {
        child.kill('SIGINT')
        return exit
      }
      ended.push(stop)
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
      const complaints = createInterface(child.stderr)[Symbol.asyncIterator]()
      return {
        stop,
        line: async () => String((await lines.next()).value),
        complaint: async () => String((await complaints.next()).value),
      }
    },
    async write(name, text) {
      await writeFile(join(home, name), text)
      return name
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ended.map((stop) => stop()))
      await runner?.[Symbol.asyncDispose]()
      await rm(home, { recursive: true, force: true })
    },
  }
}

function outputOf(file: string, args: readonly string[], { code, stdout, stderr }: Ran): string {
  if (code === 0) return stdout
  throw new Error(`${file} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
}
