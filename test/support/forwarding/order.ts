/** Who speaks first; the other end waits for the end of that before it speaks. `both`: nobody waits. */
export const ORDERS = ['both', 'client', 'server'] as const

export type Order = (typeof ORDERS)[number]
