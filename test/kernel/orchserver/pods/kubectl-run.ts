import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { buffer, text } from 'node:stream/consumers'
import type { PodCluster } from './pod-cluster.ts'

/** What a command wrote, and its exit status. */
export interface Said {
  readonly stdout: string
  readonly stderr: string
  readonly status: number | null
}

/** A kubectl that runs on the machine of a cluster. */
export interface KubectlRun {
  readonly child: ChildProcessWithoutNullStreams
  /** The next line of its output that matches; fails when it ends without one. */
  line(matches: RegExp): Promise<RegExpExecArray>
  /** What it writes until it ends; not after `line`. */
  said(): Promise<Said>
  /** Its exit status. */
  readonly ended: Promise<number | null>
  /** What it has written to its standard error so far. */
  errors(): string
}

/** It is killed after a minute; in the foreground, signals reach it once. */
const TIMEOUT = ['timeout', '--foreground', '60']

/** Starts kubectl in the network of the cluster's machine. */
export function startKubectl(
  { node, kubeconfig }: Pick<PodCluster, 'node' | 'kubeconfig'>,
  kubectl: string,
  words: readonly string[],
): KubectlRun {
  const command = ['netns', 'exec', node.name, ...TIMEOUT, kubectl, ...words]
  const child = spawn('ip', command, { env: { ...process.env, KUBECONFIG: kubeconfig } })
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  let lines: AsyncIterator<string> | undefined
  return {
    child,
    line: async (matches) => {
      lines ??= createInterface(child.stdout)[Symbol.asyncIterator]()
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
        const found = matches.exec(next.value)
        if (found !== null) return found
      }
      throw new Error(`kubectl ended before it said ${String(matches)}`)
    },
    ended,
    errors: () => errors,
    said: async () => {
      const stdout = await text(child.stdout)
      return { stdout, status: await ended, stderr: errors }
    },
  }
}

/** Sends a body to a port of the machine, and returns what came back. */
export async function exchange(
  { node }: Pick<PodCluster, 'node'>,
  url: string,
  body: Buffer,
): Promise<Buffer> {
  const words = ['netns', 'exec', node.name, 'curl', '-sS', '-m', '50', '--data-binary', '@-', url]
  const child = spawn('ip', words, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(body)
  return buffer(child.stdout)
}
