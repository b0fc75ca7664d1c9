import { addNamespace, namespaceName, removeNamespace } from '../lab/namespace.ts'
import { RawKernel } from '../raw/raw-kernel.ts'
import { CHAINS_PER_COMMIT, restoreText } from '../raw/restore-text.ts'
import type { SavedRules } from '../raw/saved-rules.ts'
import type { Backend, RawFullSync } from '../report/results.ts'

export interface RawFullSyncParts {
  readonly backend: Backend
  readonly folder: string
  readonly four: SavedRules
  readonly six: SavedRules
}

/**
 * Writes the daemon's rules into an empty namespace with only iptables-restore and ip6tables-restore, in commits of the
 * daemon's size.
 */
export async function rawFullSync(parts: RawFullSyncParts, count: number): Promise<RawFullSync> {
  const size = CHAINS_PER_COMMIT[parts.backend]
  const texts = { four: restoreText(parts.four, size), six: restoreText(parts.six, size) }
  const samples: { ms: number; cpu: number; peakKib: number }[] = []
  for (let n = 0; n < count; n++) samples.push(await restoreOnce(parts, texts))
  return {
    ms: samples.map(({ ms }) => ms),
    cpuSeconds: samples.map(({ cpu }) => cpu),
    bytes: texts.four.length + texts.six.length,
    peakKib: Math.max(...samples.map(({ peakKib }) => peakKib)),
  }
}

async function restoreOnce(
  { backend, folder }: RawFullSyncParts,
  { four, six }: { readonly four: string; readonly six: string },
) {
  const name = namespaceName('raw')
  addNamespace(name)
  const raw = new RawKernel(name, backend, folder)
  try {
    const restores = [raw.prepare(4, four), raw.prepare(6, six)]
    const startedAt = performance.now()
    for (const restore of restores) await restore()
    const ms = performance.now() - startedAt
    return { ms, cpu: raw.cpuSeconds(), peakKib: raw.childPeak }
  } finally {
    raw.close()
    removeNamespace(name)
  }
}
