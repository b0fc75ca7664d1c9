import type { ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import type { ExplainedPool, PoolExplanation } from '../../forwarding/explain-pool.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { DesiredState } from './desired-state.ts'

/** One JSON object per line, for each pool of an entry that packets use: why the pool has its backends. */
export const POOLS_DOCUMENT = 'pools.jsonl'

type ExplainPool = NonNullable<DesiredState['explainPool']>

interface PoolLine {
  readonly key: string
  readonly explanation: Omit<PoolExplanation, 'nodes'>
  readonly nodes: readonly (readonly [IpAddress, string])[]
}

/** The lines of that document, made as they are taken. */
export function* poolLines(
  entries: Iterable<ForwardingEntry>,
  explainPool: ExplainPool,
): Iterable<string> {
  for (const entry of entries) {
    for (const [key, question] of questionsOf(entry)) {
      const found = explainPool(question)
      if (found === undefined) continue
      const { nodes, ...explanation } = found
      const line: PoolLine = { key, explanation, nodes: [...nodes] }
      yield `${JSON.stringify(line)}\n`
    }
  }
}

/** Explains pools as that document does. Throws a SyntaxError or TypeError where it is not such a document. */
export function parsePools(text: string): ExplainPool {
  const lines = text.split('\n').filter((line) => line !== '')
  const known = new Map(
    lines.map((line) => {
      const { key, explanation, nodes } = JSON.parse(line) as PoolLine
      return [key, { ...explanation, zone: explanation.zone, nodes: new Map(nodes) }] as const
    }),
  )
  return (question) => known.get(keyOf(question))
}

/** A frontend with a short circuit uses the pool of the cluster for packets of the cluster, too. */
function questionsOf(entry: ForwardingEntry): ReadonlyMap<string, ExplainedPool> {
  const questions = entry.frontends.flatMap((frontend) =>
    poolsOf(frontend).map((pool): ExplainedPool => ({ entry, frontend, pool })),
  )
  return new Map(questions.map((question) => [keyOf(question), question]))
}

function poolsOf({ pool, shortCircuit }: Frontend): readonly Pool[] {
  return shortCircuit ? [pool, 'cluster'] : [pool]
}

/** Internal and external frontends have policies of their own, and each policy makes a local pool of its own. */
function keyOf({ entry, frontend, pool }: ExplainedPool): string {
  const isInternal = pool === 'local' && frontend.kind === 'clusterIP'
  return `${entry.id} ${pool}${isInternal ? ' internal' : ''}`
}
