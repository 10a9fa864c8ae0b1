# CPack runs this on the files that it is about to pack: they are as old as the commit, whenever they were built.
file(GLOB_RECURSE packed LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*)
execute_process(COMMAND touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} ${packed} COMMAND_ERROR_IS_FATAL ANY)
