import type { MessageInitShape } from '@bufbuild/protobuf'
import type { EntrySchema } from '../../generated/inspection_pb.ts'
import type { InspectionSource } from '../../service/inspection-source.ts'

/** One line of the list of Services. */
export interface ServiceLine {
  /** namespace/name */
  readonly service: string
  readonly entries: number
  /** Of all entries, each once. */
  readonly backends: number
  /** The worst of its entries: Error, Pending, Conflict or Done. */
  readonly status: string
  /** The first problem of its entries, with its code. */
  readonly problem?: { readonly code: string; readonly message: string }
}

type Entry = MessageInitShape<typeof EntrySchema>

const WORST_FIRST = ['Error', 'Pending', 'Conflict', 'Done']

/**
 * The Services of the entries, in their order, each made when it is taken; then those that have problems and no entry.
 */
export function* serviceLines(source: Pick<InspectionSource, 'entries' | 'status'>) {
  const problems = new Map<string, ServiceLine['problem']>()
  for (const { entry = '', code = '', message = '' } of source.status().problems ?? []) {
    const service = entry.split(':', 1)[0] ?? ''
    if (!problems.has(service)) problems.set(service, { code, message })
  }
  const seen = new Set<string>()
  let group: Entry[] = []
  for (const entry of source.entries('')) {
    if (group.length > 0 && group[0]?.service !== entry.service) {
      yield lineOf(group, problems)
      group = []
    }
    group.push(entry)
    seen.add(entry.service ?? '')
  }
  if (group.length > 0) yield lineOf(group, problems)
  for (const [service, problem] of problems) {
    if (!seen.has(service)) yield { service, entries: 0, backends: 0, status: 'Conflict', problem }
  }
}

function lineOf(
  group: readonly Entry[],
  problems: ReadonlyMap<string, ServiceLine['problem']>,
): ServiceLine {
  const service = group[0]?.service ?? ''
  const backends = group.flatMap((entry) => entry.backends ?? [])
  const problem = problems.get(service)
  return {
    service,
    entries: group.length,
    backends: new Set(backends.map(({ ip, port }) => `${ip} ${port}`)).size,
    status: WORST_FIRST.find((one) => group.some(({ status }) => status === one)) ?? 'Done',
    ...(problem === undefined ? {} : { problem }),
  }
}
