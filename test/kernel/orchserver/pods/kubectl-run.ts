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
  said(): Promise<Said>
}

/** Seconds after which it is killed. */
const TIMEOUT = '60'

/** Starts kubectl in the network of the cluster's machine. */
export function startKubectl(
  { node, kubeconfig }: Pick<PodCluster, 'node' | 'kubeconfig'>,
  kubectl: string,
  words: readonly string[],
): KubectlRun {
  const command = ['netns', 'exec', node.name, 'timeout', TIMEOUT, kubectl, ...words]
  const child = spawn('ip', command, { env: { ...process.env, KUBECONFIG: kubeconfig } })
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    child,
    line: async (matches) => {
      for await (const line of createInterface(child.stdout)) {
        const found = matches.exec(line)
        if (found !== null) return found
      }
      throw new Error(`kubectl ended before it said ${String(matches)}`)
    },
    said: async () => {
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      return { stdout, stderr, status: await ended }
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
