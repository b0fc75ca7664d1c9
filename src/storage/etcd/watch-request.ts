import { create } from '@bufbuild/protobuf'
import { type WatchRequest, WatchRequestSchema } from './generated/etcd_pb.ts'
import type { KeyRange } from './key-space.ts'

/**
 * Asks for every change of a range from `start` on. Large responses come in
 * fragments, and from time to time one without changes says how far etcd is.
 */
export function createWatch(range: KeyRange, start: number): WatchRequest {
  const value = { ...range, startRevision: BigInt(start), progressNotify: true, fragment: true }
  return create(WatchRequestSchema, { requestUnion: { case: 'createRequest', value } })
}

/** Asks how far the changes that were sent are complete. */
export function requestProgress(): WatchRequest {
  return create(WatchRequestSchema, { requestUnion: { case: 'progressRequest', value: {} } })
}
