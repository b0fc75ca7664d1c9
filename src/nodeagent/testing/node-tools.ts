import { localFailure } from '../../client/http/failure.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import type { NodeTools } from '../pods/node-tools.ts'

const failure = localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', 'there is no server')
const refused = Promise.resolve({ ok: false, failure } as const)

type Given = Partial<NodeTools> & Pick<NodeTools, 'clock' | 'onError'>

/** Tools of a node where nothing happens, but for those that are given. */
export function nodeTools(given: Given): NodeTools {
  return {
    network: {
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      nameOf: () => undefined,
    },
    addresses: { keep: () => undefined, claim: () => [], release: () => undefined },
    prober: { probe: () => Promise.resolve({ outcome: 'unknown', message: '' }) },
    programs: { nsenter: '', setpriv: '', setsid: '' },
    namespacePrefix: '',
    nodeNamespace: undefined,
    hostIPs: [],
    logFolder: '',
    services: () => Promise.resolve([]),
    reporter: silentReporter,
    random: { below: () => 0 },
    client: { get: () => refused, create: () => refused },
    refreshMs: 60_000,
    folders: { memory: '', disk: '' },
    ...given,
  }
}
