import { execa } from 'execa'
import { stringify } from 'yaml'
import { upstreamProgram } from '../../support/lab/upstream-program.ts'

const TIMEOUT_MS = 60_000

export interface KubectlOptions {
  readonly input?: string
  /** Milliseconds until it is killed; 60,000 unless set. */
  readonly timeoutMs?: number
}

/** kubectl of the cluster's version, as one user. */
export class Kubectl {
  /** The program, and the flags before any command. */
  readonly command: readonly string[]

  /** `cache` is a folder in which it remembers what the API has. */
  constructor(kubeconfig: string, cache: string) {
    const flags = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${cache}`]
    this.command = [upstreamProgram('kubectl'), ...flags]
  }

  /** Its standard output, without the last newline. Throws when it fails, with what it said. */
  async run(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
    const { input = '', timeoutMs = TIMEOUT_MS } = options
    const [program = '', ...flags] = this.command
    const { stdout } = await execa(program, [...flags, ...args], { input, timeout: timeoutMs })
    return stdout
  }

  /** The object that `get -o json` prints. */
  async get<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.run(['get', ...args, '-o', 'json'])) as T
  }

  /** Creates or changes objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const input = objects.map((one) => stringify(one)).join('---\n')
    await this.run(['apply', '-f', '-'], { input })
  }

  /** Writes the status of an object, which `apply` does not. */
  async replaceStatus(path: string, change: (object: StatusObject) => void): Promise<void> {
    const object = JSON.parse(await this.run(['get', '--raw', path])) as StatusObject
    change(object)
    const input = JSON.stringify(object)
    await this.run(['replace', '--raw', `${path}/status`, '-f', '-'], { input })
  }

  /** Waits until Pods are ready. */
  async ready(pods: readonly string[], namespace = 'default', timeoutMs = 240_000): Promise<void> {
    const limit = `--timeout=${timeoutMs / 1_000}s`
    const names = pods.map((name) => `pod/${name}`)
    await this.run(['-n', namespace, 'wait', '--for=condition=Ready', ...names, limit], {
      timeoutMs: timeoutMs + 10_000,
    })
  }

  /** Waits until a workload has the replicas that it wants, of its newest template. */
  async rolledOut(workload: string, namespace = 'default', timeoutMs = 240_000): Promise<void> {
    const limit = `--timeout=${timeoutMs / 1_000}s`
    await this.run(['-n', namespace, 'rollout', 'status', workload, limit], {
      timeoutMs: timeoutMs + 10_000,
    })
  }
}

interface StatusObject {
  status: object
}
