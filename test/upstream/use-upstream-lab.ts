import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import type { ApiKind, ProgramUser } from '../support/lab/api-server.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { type LabProcess, startProcess } from '../support/lab/process.ts'
import { upstreamProgram } from '../support/lab/upstream-program.ts'

/** What servers with RBAC answer to a user whose roles do not permit a request. */
export const REFUSAL = / is forbidden: User /

export interface UpstreamLab {
  readonly api: ApiKind
  /** What runs on the node beside the API server, as a user of its own. */
  readonly program: Exclude<ProgramUser, 'node-proxy'>
  readonly flags: readonly string[]
  /** What it says once it works. */
  readonly ready: string
}

/**
 * A lab with a program of Kubernetes and without the daemon, for the tests of one file. orch-server may
 * have refused nothing to it for its role; kube-apiserver does until its caches of roles are filled,
 * whenever it starts.
 */
export function useUpstreamLab({ api, program, flags, ready }: UpstreamLab): () => Lab {
  let lab: Lab | undefined
  let running: LabProcess | undefined
  beforeAll(async () => {
    lab = await createLab({ api })
    const kubeconfig = join(lab.folder, `${program}.kubeconfig`)
    writeFileSync(kubeconfig, await lab.apiServer.kubeconfigFor(program))
    const command = [upstreamProgram(program), `--kubeconfig=${kubeconfig}`, '--v=2', ...flags]
    running = startProcess(lab.node.namespace, command)
    await running.said(ready)
  })
  afterAll(async () => {
    running?.signalAlone('SIGKILL')
    await running?.ended
    const said = api === 'orch-server' ? (running?.output() ?? '') : ''
    await lab?.close()
    expect(said.split('\n').filter((line) => REFUSAL.test(line))).toEqual([])
  })
  return () => {
    if (lab === undefined) throw new Error('the lab is there only while tests run')
    return lab
  }
}
