import type { ServiceLine } from '../../../inspection/answers.ts'
import type {
  EntryJson,
  ServiceTrafficJson,
  StatusResponseJson,
} from '../../../inspection/generated/inspection_pb.ts'

/** A message of which some fields are always there; a daemon of another version may leave out each of the others. */
type Having<T, K extends keyof T> = Partial<T> & Required<Pick<T, K>>

export type EntryMessage = Having<EntryJson, 'id'>
export type ServiceMessage = Having<ServiceLine, 'service'>
export type ServiceTrafficMessage = Having<ServiceTrafficJson, 'service'>

/** Milliseconds in which half and 99 of 100 of the last changes reached the kernel. */
export interface LatencyFigures {
  /** Undefined: the status does not say. */
  readonly p50: number | undefined
  readonly p99: number | undefined
}

export function latencyOf({ programming }: StatusResponseJson): LatencyFigures {
  const { p50Ms, p99Ms } = programming ?? {}
  return { p50: numberOf(p50Ms), p99: numberOf(p99Ms) }
}

/** JSON has no number for what is not finite, so protobuf writes that as text. */
function numberOf(double: number | string | undefined): number | undefined {
  return double === undefined ? undefined : Number(double)
}
