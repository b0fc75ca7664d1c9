import type { JsonObject } from '../../lib/json.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { POD_REVISION } from './controller-revisions.ts'

/** Annotation of a Pod that replaces one that has ended: how many Pods in succession ended before it. */
const ENDED_BEFORE = 'orch.io/ended-before'

const FIRST_MS = 1_000
const MAX_MS = 900_000

/**
 * Milliseconds until a Pod that has ended is replaced by one of this revision; 0: it is replaced now. The first Pod that
 * ends is replaced at once, the next ones 1 s, 2 s, 4 s, … 15 min after they were made. One of another revision is
 * replaced at once.
 */
export function untilReplaced(pod: PodObject, revision: string, now: number): number {
  const before = endedBefore(pod, revision)
  if (before === 0) return 0
  const delay = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(before - 1, 30))
  return Math.max(0, createdAt(pod, now) + delay - now)
}

/** The annotation of the Pod that replaces this one. After a Pod that lived for more than half an hour the count is 1. */
export function replacementAnnotations(pod: PodObject, revision: string, now: number): JsonObject {
  const isOld = now - createdAt(pod, now) > 2 * MAX_MS
  return { [ENDED_BEFORE]: String((isOld ? 0 : endedBefore(pod, revision)) + 1) }
}

function endedBefore({ meta }: PodObject, revision: string): number {
  if (meta.labels[POD_REVISION] !== revision) return 0
  const text = meta.annotations[ENDED_BEFORE] ?? ''
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0
}

function createdAt({ meta }: PodObject, otherwise: number): number {
  const time = Date.parse(meta.createdAt)
  return Number.isNaN(time) ? otherwise - MAX_MS : time
}
