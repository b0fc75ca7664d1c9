import type { FieldsOf } from '../../../settings/field.ts'
import { portRange } from '../../../settings/network-types.ts'
import { duration, integer, oneOf } from '../../../settings/scalar-types.ts'
import type {
  CleanupHost,
  ModeConflict,
  ModeDefinition,
  ModeHost,
} from '../../definition/mode-definition.ts'
import { cleanupSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { GAPS } from '../gaps.ts'
import { CHAIN } from '../names.ts'
import { bindMap } from './bind-map.ts'
import { chooseEntry } from './choose-entry.ts'
import {
  BALANCINGS,
  DATA_PATHS,
  USERSPACE_ENTRIES,
  type UserspaceConfiguration,
} from './configuration.ts'
import { UserspacePendingCleanup } from './pending-cleanup.ts'
import { UserspaceDriver } from './userspace-driver.ts'

const MINUTES_15 = 900_000
const HOURS_24 = 86_400_000

/** The settings of the userspace mode. Options of the workers take effect only at a new start. */
const userspaceFields: FieldsOf<UserspaceConfiguration> = {
  'userspace.entry': {
    flag: 'userspace-entry',
    type: oneOf(USERSPACE_ENTRIES),
    fallback: 'auto',
    doc: 'How packets get to the workers. redirect: rules send those for addresses of Services there, which needs CAP_NET_ADMIN. bind: the workers listen at the addresses of userspace.bindMap, as any user may. auto: redirect with that right and iptables, else bind.',
  },
  'userspace.bindMap': {
    flag: 'userspace-bind-map',
    type: bindMap,
    fallback: [],
    doc: 'Where Services are served with userspace.entry bind, such as 127.0.0.1:8080=shop/cart:http. PORT is the name or the number of a port of the Service, and may be missing where there is only one of the protocol; without a protocol it is TCP.',
    reload: 'live',
  },
  'userspace.dataPath': {
    flag: 'userspace-data-path',
    type: oneOf(DATA_PATHS),
    fallback: 'auto',
    doc: 'What moves the bytes. native: system calls, and splice(2) without a copy into the process. javascript: the sockets of Node, which can listen at userspace.bindMap but take no redirected packets. auto: native where Node can make system calls (node:ffi).',
  },
  'userspace.workers': {
    flag: 'userspace-workers',
    type: integer(0, 64),
    fallback: 0,
    doc: 'Threads that move bytes. 0: one for each processor, at most 8.',
  },
  'userspace.maxConnections': {
    flag: 'userspace-max-connections',
    type: integer(0, 4_194_304),
    fallback: 0,
    doc: 'TCP connections and UDP flows at one time; clients beyond are reset. 0: as many as the limit of open files (ulimit -n) allows.',
  },
  'userspace.maxConnectionsPerClient': {
    flag: 'userspace-max-connections-per-client',
    type: integer(0, 4_194_304),
    fallback: 0,
    doc: 'The same for one client address; each worker counts its share. 0: half of all, so that one client cannot keep the others out.',
  },
  'userspace.connectTimeout': {
    flag: 'userspace-connect-timeout',
    type: duration(1),
    fallback: 1_000,
    doc: 'How long one backend may take to accept a connection.',
  },
  'userspace.retryTimeout': {
    flag: 'userspace-retry-timeout',
    type: duration(),
    fallback: 5_000,
    doc: 'How long after its arrival a client that no backend took yet is offered to another one. 0: only the first is tried.',
  },
  'userspace.connectAttempts': {
    flag: 'userspace-connect-attempts',
    type: integer(1, 100),
    fallback: 3,
    doc: 'Backends that are tried for one client; it is reset when none accepts.',
  },
  'userspace.idleTimeout': {
    flag: 'userspace-idle-timeout',
    type: duration(),
    fallback: HOURS_24,
    doc: 'How long a TCP connection may carry nothing before it is ended; as long as connection tracking keeps one in the other modes. 0: for ever.',
  },
  'userspace.gracefulTermination': {
    flag: 'userspace-graceful-termination',
    type: duration(),
    fallback: MINUTES_15,
    doc: 'How long a backend that left keeps its connections, if they do not end before. It gets no new ones. 0: it loses them at once.',
  },
  'userspace.shutdownTimeout': {
    flag: 'userspace-shutdown-timeout',
    type: duration(),
    fallback: 20_000,
    doc: 'How long the daemon waits at its end for connections, which end with it. 0: it does not wait.',
    reload: 'live',
  },
  'userspace.affinityClients': {
    flag: 'userspace-affinity-clients',
    type: integer(1, 16_777_216),
    fallback: 1_048_576,
    doc: 'Clients that sessionAffinity remembers; beyond, the one that came last the longest ago is forgotten.',
  },
  'userspace.syncPeriod': {
    flag: 'userspace-sync-period',
    type: duration(1),
    fallback: 30_000,
    doc: 'As iptables.syncPeriod, in userspace mode.',
    reload: 'live',
  },
  'userspace.minSyncPeriod': {
    flag: 'userspace-min-sync-period',
    type: duration(),
    fallback: 0,
    doc: 'As iptables.minSyncPeriod, in userspace mode.',
    reload: 'live',
  },
  'userspace.scheduler': {
    flag: 'userspace-scheduler',
    type: oneOf(BALANCINGS),
    fallback: 'rr',
    doc: 'How a backend is chosen. rr: in turn; lc: the one with the fewest connections. The annotation service.orch.io/ipvs-scheduler of a Service wins where it is one of them.',
    reload: 'live',
  },
  portRange: {
    flag: 'proxy-port-range',
    type: portRange,
    fallback: undefined,
    doc: 'Ports at which redirected packets may come in: each family needs two. Empty: 10270 and 10271, or any that are free. Packets that rules sent there while the daemon was away reach the next one if it has the same.',
  },
  udpIdleTimeout: {
    flag: 'udp-timeout',
    type: duration(1),
    fallback: 30_000,
    doc: 'How long the userspace mode keeps an idle UDP flow.',
    zeroIsUnset: true,
  },
}

/** The userspace mode. */
export const userspace: ModeDefinition<UserspaceConfiguration> = {
  name: 'userspace',
  gaps: GAPS,
  fields: userspaceFields,
  loopbackGuard: CHAIN.martians,
  periods: (config) => config.userspace,
  conflicts,
  requirements(config, access) {
    const choice = chooseEntry(config, access)
    return choice.ok ? [] : choice.missing
  },
  createDriver,
  cleanup: (host) => [() => cleanUp(host)],
}

function conflicts({ userspace: { entry, bindMap } }: UserspaceConfiguration): ModeConflict[] {
  if (entry !== 'bind' || bindMap.length > 0) return []
  const message = 'entry bind needs userspace.bindMap; set it'
  return [{ paths: ['userspace.entry'], message }]
}

/** The code that forwards is loaded when it is first needed. If rules cannot be written, no earlier run left any. */
function createDriver({ netfilter, families, clock, log }: ModeHost): UserspaceDriver {
  const code = () => import('./open-userspace.ts')
  return new UserspaceDriver({
    netfilter,
    clock,
    log,
    open: async (config, entry, former) =>
      (await code()).openUserspace({ config, entry, former, families, netfilter, clock, log }),
    view: async (settings) => (await code()).openUserspaceToRead(settings, { netfilter, clock }),
    leftovers: (inputs) => {
      if (!netfilter.ok) return undefined
      const { iptables, sets } = netfilter.parts
      const open = async () => (await code()).openUserspaceForCleanup({ iptables, sets, clock })
      return new UserspacePendingCleanup({ sets, open, inputs })
    },
  })
}

async function cleanUp({ iptables, sets, clock, families, config }: CleanupHost): Promise<void> {
  const { openUserspaceForCleanup } = await import('./open-userspace.ts')
  const runtime = openUserspaceForCleanup({ iptables, sets, clock })
  const netfilter = cleanupSettings(config, families)
  const listening = { kind: 'transparent', netfilter, nodeAddresses: [] } as const
  try {
    await runtime.build({ listening, balancing: 'rr' }).cleanup()
  } finally {
    runtime.close()
  }
}
