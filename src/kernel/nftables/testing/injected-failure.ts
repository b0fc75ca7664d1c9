/** How a transaction of one socket fails. */
export type InjectedFailure =
  /** As if the kernel refused this command; undefined for the transaction as a whole. */
  | { readonly kind: 'refused'; readonly errno: number; readonly command?: number }
  /** No answer comes, so `commit` throws; `applied`: the transaction took effect nonetheless. */
  | { readonly kind: 'lost'; readonly applied?: true }
