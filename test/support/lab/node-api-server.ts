import { join } from 'node:path'
import type { ApiServer } from './api-server.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'

/** The URL of the etcd that is started for a program that needs one. */
export const ETCD_URL = 'http://127.0.0.1:2379'

/** An API server as a program in the node's namespace. */
export interface ApiProgram extends Pick<ApiServer, 'url' | 'ca' | 'admin' | 'kubeconfigFor'> {
  readonly command: readonly string[]
  /** The folder of an etcd that starts before the program and survives its end; undefined: no etcd. */
  readonly etcdIn: string | undefined
  /** Resolves once it serves. */
  ready(running: LabProcess): Promise<void>
}

/** `hangUp` is kill -9, and `answerAgain` starts the program again. */
export function createNodeApiServer({ namespace }: Site, program: ApiProgram): ApiServer {
  const { url, ca, admin, kubeconfigFor, command, etcdIn, ready } = program
  let etcd: LabProcess | undefined
  let running: LabProcess | undefined

  async function start(): Promise<void> {
    if (etcdIn !== undefined && etcd === undefined) {
      etcd = startProcess(namespace, ['etcd', `--data-dir=${join(etcdIn, 'etcd')}`])
      await etcd.said('ready to serve client requests')
    }
    running = startProcess(namespace, command)
    await ready(running)
  }
  async function kill(): Promise<void> {
    running?.signalAlone('SIGKILL')
    await running?.ended
  }
  return {
    url,
    ca,
    admin,
    kubeconfigFor,
    start,
    hangUp: kill,
    answerAgain: start,
    signal: (name) => running?.signalAlone(name),
    async stop() {
      await kill()
      etcd?.signalAlone('SIGKILL')
      await etcd?.ended
      etcd = undefined
    },
    output: () => running?.output() ?? '',
  }
}
