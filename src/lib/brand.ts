declare const brand: unique symbol

/** A nominal type: a `T` that only a parser of its own module may produce. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name }
