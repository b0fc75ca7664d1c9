import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Kubectl, SHORT_LIVED } from './installed.ts'

export interface ShellOptions {
  readonly kubectl: Kubectl
  /** Path of a kubeconfig; the shell works on a copy. */
  readonly kubeconfig: string
  /** Created, and then the default namespace; also `$NS`. */
  readonly namespace: string
  /** Texts by name, in the working folder. */
  readonly files: Readonly<Record<string, string>>
}

/** What a command wrote, both streams, and its exit status. */
export interface Said {
  readonly text: string
  readonly status: number
}

/** A user's shell with one kubectl, and a home of its own, so that there is no cached discovery. */
export interface Shell extends AsyncDisposable {
  run(command: string): Promise<Said>
  /** Starts a command that continues to run; it ends with the shell. */
  start(command: string): Started
}

export interface Started {
  /** Of both streams. */
  readonly lines: AsyncIterator<string>
  /** Its exit status. */
  readonly ended: Promise<number | null>
}

/** The timeout of one kubectl. */
const TIMEOUT_SECONDS = 60

export async function openShell(options: ShellOptions): Promise<Shell> {
  const home = await mkdtemp(join(tmpdir(), 'np-kubectl-'))
  await furnish(home, options)
  const settings = { cwd: home, env: environment(home, options.namespace) }
  const run = (command: string): Promise<Said> =>
    new Promise((resolve) => {
      const child = execFile('sh', ['-c', `(${command}\n) 2>&1`], settings, (_failure, text) =>
        resolve({ text, status: child.exitCode ?? -1 }),
      )
      child.stdin?.end()
    })
  const children: ChildProcess[] = []
  const begun = await run(
    'kubectl create namespace "$NS" && kubectl config set-context --current --namespace="$NS"',
  )
  if (begun.status !== 0) throw new Error(begun.text)
  return {
    run,
    start: (command) => {
      const child = spawn('sh', ['-c', `exec ${command} 2>&1`], {
        ...settings,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      children.push(child)
      return {
        lines: createInterface(child.stdout)[Symbol.asyncIterator](),
        ended: new Promise((resolve) => child.once('exit', resolve)),
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.kill('SIGTERM')
      await rm(home, { recursive: true })
    },
  }
}

async function furnish(home: string, { kubectl, kubeconfig, files }: ShellOptions): Promise<void> {
  await mkdir(join(home, 'bin'))
  const script = `#!/bin/sh\nexec timeout ${TIMEOUT_SECONDS} '${kubectl.path}' "$@"\n`
  await writeFile(join(home, 'bin', 'kubectl'), script, { mode: 0o755 })
  await copyFile(kubeconfig, join(home, 'kubeconfig'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text)
}

function environment(home: string, namespace: string): Readonly<Record<string, string>> {
  return {
    ...SHORT_LIVED,
    HOME: home,
    KUBECONFIG: join(home, 'kubeconfig'),
    PATH: join(home, 'bin') + delimiter + (process.env['PATH'] ?? ''),
    NS: namespace,
  }
}
