export declare const entryIn: (root: string) => string
export declare const entry: () => string
