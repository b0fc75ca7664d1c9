/** Who speaks first, and whose end the other one waits for before it speaks. */
export const ORDERS = ['both', 'client', 'server'] as const

export type Order = (typeof ORDERS)[number]
