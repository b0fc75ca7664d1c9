declare const brand: unique symbol

/**
 * A nominal type: a subtype of `T` to which neither a plain `T` nor a brand of another `Name` can be assigned. By
 * convention, only a parser of the module that declares the type makes its values.
 */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name }
