import { mainOfLab } from '../programs.ts'
import type { Serves } from '../stub-api/route.ts'
import { type ApiKind, type ApiServer, RANGES } from './api-server.ts'
import { kubeconfigText } from './kubeconfig.ts'
import { API_PORT, WORLD } from './plan.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'

const REAL = new URL('../../../src/apiserver/main.ts', import.meta.url).pathname

/** The kind of API server for labs that do not name one: `NP_API_SERVER`, or the stand-in if that is not set. */
export function defaultApiKind(): ApiKind {
  return process.env['NP_API_SERVER'] === 'real' ? 'real' : 'slices-v1'
}

export function createApiServer(world: Site, kind: 'real' | Serves): ApiServer {
  const url = `http://${WORLD.v4}:${API_PORT}`
  let running: LabProcess | undefined
  return {
    url,
    ca: () => undefined,
    admin: () => undefined,
    kubeconfigFor: () => Promise.resolve(kubeconfigText({ url })),
    async start() {
      const program =
        kind === 'real' ? [REAL, ...RANGES] : [mainOfLab('stub-api'), `--serves=${kind}`]
      const place = [`--host=${WORLD.v4}`, `--port=${API_PORT}`]
      running = startProcess(world.namespace, [process.execPath, ...program, ...place])
      await running.said('http://')
    },
    signal: (name) => running?.signal(name),
    async stop() {
      running?.signal('SIGKILL')
      await running?.ended
      running = undefined
    },
    async hangUp() {
      running?.signal('SIGUSR2')
      await running?.said('closed', { times: times(running, 'closed') + 1 })
    },
    async answerAgain() {
      running?.signal('SIGUSR2')
      await running?.said('http://', { times: times(running, 'http://') + 1 })
    },
    output: () => running?.output() ?? '',
  }
}

function times(process: LabProcess, text: string): number {
  return process.output().split(text).length - 1
}
