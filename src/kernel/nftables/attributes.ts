/**
 * Attributes of nf_tables messages (linux/netfilter/nf_tables.h): those that are written or read here, by the enum that
 * numbers them.
 */

/** NFTA_LIST_ELEM. */
export const LIST_ELEMENT = 1

/** enum nft_table_attributes. */
export const TABLE = { name: 1, flags: 2 } as const

/** enum nft_chain_attributes. */
export const CHAIN = { table: 1, name: 3, hook: 4, policy: 5, type: 7 } as const

/** enum nft_hook_attributes. */
export const HOOK = { number: 1, priority: 2 } as const

/** enum nft_rule_attributes. */
export const RULE = { table: 1, chain: 2, handle: 3, expressions: 4, userData: 7 } as const

/** enum nft_set_attributes. */
export const SET = {
  table: 1,
  name: 2,
  flags: 3,
  keyType: 4,
  keyLength: 5,
  dataType: 6,
  dataLength: 7,
  description: 9,
  id: 10,
  userData: 13,
  expression: 17,
} as const

/** enum nft_set_desc_attributes. */
export const DESCRIPTION = { size: 1, fields: 2 } as const

/** enum nft_set_field_attributes. */
export const FIELD = { length: 1 } as const

/** enum nft_set_elem_list_attributes. */
export const ELEMENTS = { table: 1, set: 2, list: 3 } as const

/** enum nft_set_elem_attributes. */
export const ELEMENT = {
  key: 1,
  data: 2,
  flags: 3,
  timeout: 4,
  expires: 5,
  userData: 6,
  expression: 7,
  keyEnd: 10,
} as const

/** enum nft_data_attributes. */
export const DATA = { value: 1, verdict: 2 } as const

/** enum nft_verdict_attributes. */
export const VERDICT = { code: 1, chain: 2 } as const

/** enum nft_expr_attributes. */
export const EXPRESSION = { name: 1, data: 2 } as const

/** enum nft_table_flags. */
export const TABLE_FLAG = { owner: 2, persist: 4 } as const

/** enum nft_set_flags. */
export const SET_FLAG = {
  interval: 0x4,
  map: 0x8,
  timeout: 0x10,
  dynamic: 0x20,
  concatenation: 0x80,
} as const

/** NFT_SET_ELEM_INTERVAL_END. */
export const INTERVAL_END = 1
