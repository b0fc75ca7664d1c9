import type { MessageInitShape } from '@bufbuild/protobuf'
import type { DocumentPartSchema } from '../../../inspection/generated/inspection_pb.ts'
import { DESIRED_DOCUMENT } from '../../explanation/desired-document.ts'
import type { DesiredState } from '../../explanation/desired-state.ts'
import { POOLS_DOCUMENT, poolLines } from '../../explanation/pools-document.ts'
import type { Running } from '../engine/engine.ts'
import type { ThisNode } from '../node/this-node.ts'
import { desiredRules } from './desired-rules.ts'

/** Characters of one message. */
const PART_SIZE = 1_000_000

/** What of the daemon the documents show. */
export interface Documented {
  readonly node: Pick<ThisNode, 'localAddresses' | 'modeInputs' | 'nodePortScope'>
  /** Undefined until the cluster is listed. */
  readonly running: () => Running | undefined
  /** The configuration as JSON. */
  readonly describe: () => string
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>
}

type Part = MessageInitShape<typeof DocumentPartSchema>

/** What a support bundle has of the daemon: its configuration, its metrics, and what it wants of the kernel, with the reasons. */
export async function* documents(
  { describe, metrics, running, node }: Documented,
  explainPool: NonNullable<DesiredState['explainPool']>,
) {
  yield* partsOf('configuration.json', [describe()])
  yield* partsOf('metrics.txt', [await metrics()])
  const now = running()
  if (now === undefined) return
  yield* partsOf(DESIRED_DOCUMENT, desiredLines(now, node))
  yield* partsOf(POOLS_DOCUMENT, poolLines(now.table.entries(), explainPool))
}

/** One JSON object a line: the rules, then each entry. */
function* desiredLines(now: Running, node: Documented['node']): Iterable<string> {
  yield `${JSON.stringify(desiredRules(now, node))}\n`
  for (const entry of now.table.entries()) yield `${JSON.stringify(entry)}\n`
}

function* partsOf(name: string, pieces: Iterable<string>): Iterable<Part> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < PART_SIZE) continue
    yield { name, text }
    text = ''
  }
  if (text !== '') yield { name, text }
}
