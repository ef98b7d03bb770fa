/** One option for both ways to use a key. */
export const keySummary = 'an Ed25519 key (PEM): what is frozen is signed with it, what is verified must be'
