/** What the page reads of objects of the API. */
export interface NodeObject {
  readonly metadata: { readonly name: string }
  readonly status?: {
    readonly conditions?: readonly ConditionMessage[]
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[]
  }
}

export interface ConditionMessage {
  readonly type?: string
  /** True, False or Unknown. */
  readonly status?: string
  readonly reason?: string
  readonly message?: string
}

export interface PodObject {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly nodeName?: string; readonly hostNetwork?: boolean }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip?: string }[]
  }
}

export interface EndpointSliceObject {
  readonly endpoints?: readonly { readonly hints?: object }[]
}

/** One part of a list. */
export interface ObjectList<T> {
  readonly metadata?: { readonly continue?: string }
  readonly items?: readonly T[]
}
