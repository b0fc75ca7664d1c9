import type { UserspaceMeasured } from '../report/userspace/results.ts'

/** The figures of one round: lists with one item. */
export type Sample = Partial<UserspaceMeasured>

type Lists = Readonly<Record<string, number | readonly number[]>>

/** Adds a sample: appends to lists, and replaces single figures. */
export function appendSample(before: Sample, more: Sample): Sample {
  const joined = Object.entries(more).map(([key, lists]) => {
    const earlier = before[key as keyof Sample] as Lists | undefined
    return [key, earlier === undefined ? lists : joinLists(earlier, { ...lists })]
  })
  return { ...before, ...Object.fromEntries(joined) } as Sample
}

function joinLists(before: Lists, more: Lists): Lists {
  const joined = Object.entries(more).map(([key, value]) => {
    const earlier = before[key]
    const isList = typeof value !== 'number' && typeof earlier !== 'number'
    return [key, isList ? [...(earlier ?? []), ...value] : value] as const
  })
  return Object.fromEntries(joined)
}
