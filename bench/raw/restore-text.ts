import type { SavedChain, SavedRules } from './saved-rules.ts'

/** The batch sizes of the daemon: see src/modes/netfilter/chains/chain-keeper.ts. */
export const CHAINS_PER_COMMIT = { nft: 500, legacy: Number.POSITIVE_INFINITY } as const

/**
 * The input with which `iptables-restore --noflush` writes these rules to an empty kernel: each chain before those that
 * jump to it, `chainsPerCommit` in a commit, built-in chains last.
 */
export function restoreText(rules: SavedRules, chainsPerCommit: number): string {
  return [...rules]
    .filter(([, chains]) => chains.some((chain) => chain.rules.length > 0))
    .map(([table, chains]) => tableText(table, chains, chainsPerCommit))
    .join('')
}

function tableText(table: string, chains: readonly SavedChain[], size: number): string {
  const ordered = inDependencyOrder(chains)
  let text = ''
  for (let at = 0; at < ordered.length; at += Math.min(size, ordered.length)) {
    text += commitText(table, ordered.slice(at, at + size))
  }
  return text
}

/** Replaces the content of these chains. */
export function commitText(table: string, chains: readonly SavedChain[]): string {
  const declared = chains.filter(({ builtIn }) => !builtIn).map(({ name }) => `:${name} - [0:0]`)
  const lines = [`*${table}`, ...declared, ...chains.flatMap(({ rules }) => rules), 'COMMIT']
  return `${lines.join('\n')}\n`
}

function inDependencyOrder(chains: readonly SavedChain[]): readonly SavedChain[] {
  const byName = new Map(chains.map((chain) => [chain.name, chain]))
  const ordered = new Set<SavedChain>()
  const visit = (chain: SavedChain) => {
    if (ordered.has(chain)) return
    for (const target of targetsOf(chain)) {
      const next = byName.get(target)
      if (next !== undefined) visit(next)
    }
    ordered.add(chain)
  }
  for (const chain of chains) if (!chain.builtIn) visit(chain)
  for (const chain of chains) if (chain.rules.length > 0) visit(chain)
  return [...ordered]
}

function targetsOf({ rules }: SavedChain): readonly string[] {
  return rules.flatMap((rule) => / -[jg] (\S+)/.exec(rule)?.[1] ?? [])
}
