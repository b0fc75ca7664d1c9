/** One chain of a dump, with its rules as `iptables-restore` takes them. */
export interface SavedChain {
  readonly name: string
  readonly builtIn: boolean
  readonly rules: readonly string[]
}

/** Table → its chains. */
export type SavedRules = ReadonlyMap<string, readonly SavedChain[]>

/** Reads the output of `iptables-save`. */
export function parseSaved(text: string): SavedRules {
  const tables = new Map<string, Map<string, { builtIn: boolean; rules: string[] }>>()
  let table = new Map<string, { builtIn: boolean; rules: string[] }>()
  for (const line of text.split('\n')) {
    if (line.startsWith('*')) {
      table = new Map()
      tables.set(line.slice(1), table)
    } else if (line.startsWith(':')) {
      const [name = '', policy = ''] = line.slice(1).split(' ')
      table.set(name, { builtIn: policy !== '-', rules: [] })
    } else if (line.startsWith('-A ')) {
      table.get(line.split(' ', 2)[1] ?? '')?.rules.push(line)
    }
  }
  return new Map(
    [...tables].map(([name, chains]) => [
      name,
      [...chains].map(([chain, content]) => ({ name: chain, ...content })),
    ]),
  )
}

/** The chain that translates packets to this endpoint. */
export function chainOfEndpoint(rules: SavedRules, socket: string): SavedChain {
  const wanted = `--to-destination ${socket}`
  const chain = rules.get('nat')?.find((each) => each.rules.some((rule) => rule.endsWith(wanted)))
  if (chain === undefined) throw new Error(`no chain leads to ${socket}`)
  return chain
}

export function countRules(rules: SavedRules): { chains: number; rules: number } {
  const chains = [...rules.values()].flat()
  return {
    chains: chains.filter(({ builtIn }) => !builtIn).length,
    rules: chains.reduce((sum, chain) => sum + chain.rules.length, 0),
  }
}
