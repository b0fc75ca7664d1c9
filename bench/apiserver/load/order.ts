/** The server that gets the load. */
export interface Target {
  /** `https://127.0.0.1:6443` */
  readonly url: string
  /** Certificate authority, PEM. */
  readonly ca: string
  /** The certificate of the user who sends everything, PEM; absent: the server has no users. */
  readonly certificate?: { readonly cert: string; readonly key: string }
}

/** What the load generator receives, one JSON per line on its standard input. */
export type LoadOrder =
  | CreateOrder
  | GetOrder
  | ListOrder
  | PatchOrder
  | HoldOrder
  | FanOutOrder
  | ReadinessOrder

/** Objects numbered from `from` on, `clients` at a time. */
export interface CreateOrder extends Target {
  readonly what: 'create'
  readonly kind: 'services' | 'endpoints'
  readonly from: number
  readonly count: number
  readonly clients: number
}

/** Gets one path repeatedly. */
export interface GetOrder extends Target {
  readonly what: 'get'
  readonly path: string
  readonly clients: number
  readonly ms: number
}

/** Gets one path, one request after the other; measured from sending until the last byte of the body. */
export interface ListOrder extends Target {
  readonly what: 'list'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly times: number
}

/** Merge patches of Services in turn, while one client watches all of them. */
export interface PatchOrder extends Target {
  readonly what: 'patch'
  readonly services: number
  readonly clients: number
  readonly ms: number
}

/** Opens watches of Services, and keeps them open; 0 closes all. */
export interface HoldOrder extends Target {
  readonly what: 'hold'
  readonly watchers: number
}

/** Patches for the open watches to see; each is sent some time after all watches have seen the one before. */
export interface FanOutOrder extends Target {
  readonly what: 'fanOut'
  readonly writes: number
  readonly restMs: number
}

/** A Pod becomes ready; its address appears in the Endpoints of its Service. */
export interface ReadinessOrder extends Target {
  readonly what: 'readiness'
  readonly times: number
  /** How many milliseconds to wait for each of them. */
  readonly boundMs: number
}

/** The answers, one JSON per line. Times in milliseconds. */
export interface LoadReports {
  readonly create: Throughput
  readonly get: Throughput
  readonly list: { readonly ms: readonly number[]; readonly bytes: number }
  readonly patch: Throughput & { readonly watch: Percentiles }
  readonly hold: { readonly watchers: number }
  readonly fanOut: Percentiles
  readonly readiness: { readonly ms: readonly number[] }
}

export interface Percentiles {
  readonly p50: number
  readonly p99: number
}

export interface Throughput extends Percentiles {
  readonly requests: number
  readonly perSecond: number
  /** The size of one answer. */
  readonly bytes: number
}
