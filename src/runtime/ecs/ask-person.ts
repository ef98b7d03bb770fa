/** The tool through which a model hands a step to a person. */
export const askPersonName = 'ask_person'
