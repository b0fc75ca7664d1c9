/** What becomes of a packet; `chain` names one of the same table. */
export type Verdict =
  | { readonly kind: 'accept' | 'drop' | 'return' | 'continue' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
