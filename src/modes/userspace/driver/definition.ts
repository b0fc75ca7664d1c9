import type {
  CleanupHost,
  ModeConflict,
  ModeDefinition,
  ModeHost,
} from '../../definition/mode-definition.ts'
import { cleanupSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { GAPS } from '../gaps.ts'
import { CHAIN } from '../names.ts'
import { chooseEntry } from './choose-entry.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import { userspaceFields } from './fields.ts'
import { UserspacePendingCleanup } from './pending-cleanup.ts'
import { UserspaceDriver } from './userspace-driver.ts'

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

/** What forwards is loaded when it is needed first; without rules no earlier run left any. */
function createDriver({ netfilter, families, clock, log }: ModeHost): UserspaceDriver {
  const code = () => import('./open-userspace.ts')
  return new UserspaceDriver({
    ...{ netfilter, clock, log },
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
