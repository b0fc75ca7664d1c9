import type { TableName } from '../../kernel/iptables/iptables.ts'
import type { Traces } from '../../kernel/traces.ts'
import type { Family } from '../../lib/ip.ts'

/** How to recognise another program on a node by what it leaves in the kernel. Any one trace is enough. */
export interface ProgramSignature {
  /** Its process, as the kernel names it. */
  readonly process: string
  readonly chains: readonly { readonly table: TableName; readonly chain: string }[]
  /** Tables of nftables, in the families `ip`, `ip6` and `inet`. */
  readonly nftTables: readonly string[]
  readonly devices: readonly string[]
}

/** Another program, and what was found of it. */
export interface FoundProgram<S extends ProgramSignature> {
  readonly signature: S
  /** Each one as text: `chain KUBE-SERVICES in table nat of iptables-nft (IPv4)`. */
  readonly traces: readonly string[]
  /** Its processes in this network namespace that are visible to this process. */
  readonly pids: readonly number[]
}

/** Looks for every program, and for its processes only when anything else of it was found. */
export async function findPrograms<S extends ProgramSignature>(
  signatures: readonly S[],
  traces: Traces,
  families: readonly Family[],
): Promise<readonly FoundProgram<S>[]> {
  const devices = await traces.devices()
  const found: Omit<FoundProgram<S>, 'pids'>[] = []
  for (const signature of signatures) {
    const seen = [
      ...signature.devices.filter((name) => devices.has(name)).map((name) => `device ${name}`),
      ...(await chainsOf(signature, traces, families)),
      ...(await nftTablesOf(signature, traces, families)),
    ]
    if (seen.length > 0) found.push({ signature, traces: seen })
  }
  if (found.length === 0) return []
  const processes = await traces.processes(found.map(({ signature }) => signature.process))
  const pidsOf = ({ process }: S) =>
    processes.filter(({ name }) => name === process).map(({ pid }) => pid)
  return found.map((program) => ({ ...program, pids: pidsOf(program.signature) }))
}

async function chainsOf(
  { chains }: ProgramSignature,
  traces: Traces,
  families: readonly Family[],
): Promise<readonly string[]> {
  const places = chains.flatMap((place) => families.map((family) => ({ ...place, family })))
  const found = await Promise.all(
    places.map(async (place) =>
      (await traces.variantsWith(place)).map((variant) => chainText(place, variant)),
    ),
  )
  return found.flat()
}

async function nftTablesOf(
  { nftTables }: ProgramSignature,
  traces: Traces,
  families: readonly Family[],
): Promise<readonly string[]> {
  const all = [...families, 'inet' as const]
  const places = nftTables.flatMap((name) => all.map((family) => ({ name, family })))
  const found = await Promise.all(
    places.map(async ({ name, family }) =>
      (await traces.hasNftTable(family, name))
        ? [`table ${familyText(family)} ${name} of nftables`]
        : [],
    ),
  )
  return found.flat()
}

/** As `nft` names the family. */
function familyText(family: Family | 'inet'): string {
  if (family === 'inet') return family
  return family === 4 ? 'ip' : 'ip6'
}

function chainText(
  place: { readonly family: Family; readonly table: TableName; readonly chain: string },
  variant: string,
): string {
  return `chain ${place.chain} in table ${place.table} of iptables-${variant} (IPv${place.family})`
}
